package drey.jni;

/** Tries to load the library, with any argument on an interrupted thread, and says how that went. */
final class LoadMain {

    private LoadMain() {}

    public static void main(String[] args) {
        if (args.length > 0) {
            Thread.currentThread().interrupt();
        }
        String reason = NativeLibrary.unavailableReason();
        System.out.println("interrupted: " + Thread.interrupted());
        System.out.println("reason: " + reason);
        if (reason == null) {
            System.out.println("abi: " + NativeOperator.bind(null));
            System.out.println("live: " + NativeOperator.live());
        }
    }
}
