package drey.jni;

/** Tries to load the library and says how that went. */
final class LoadMain {

    private LoadMain() {}

    public static void main(String[] args) {
        String reason = NativeLibrary.unavailableReason();
        System.out.println("reason: " + reason);
        if (reason == null) {
            System.out.println("abi: " + NativeOperator.bind(null));
            System.out.println("live: " + NativeOperator.live());
        }
    }
}
