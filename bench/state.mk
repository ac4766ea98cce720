## ---- the state engine against other maps ----

SIZES ?= 1000,100000,1000000,10000000

.PHONY: bench-state
bench-state: need-go ## measure the state table against other maps (SIZES=1000,100000 for less; SAVE=1 keeps the results; with Rust installed also hashbrown)
	@mkdir -p bench/out
	@cd bench/state && go build -o ../out/state .
	@if command -v cargo >/dev/null; then \
	  cd bench/state/rust && cargo build -q --release --target-dir ../../out/rust; \
	else echo "cargo is missing: hashbrown is left out (Debian: apt install cargo)"; fi
	@bench/out/state -sizes $(SIZES) $$(test -x bench/out/rust/release/drey-bench-hashbrown && echo -rust bench/out/rust/release/drey-bench-hashbrown) \
	  | tee bench/out/state.txt
	@$(if $(SAVE),cp bench/out/state.txt bench/results/state-$$(date +%F).txt && echo bench/results/state-$$(date +%F).txt,true)
