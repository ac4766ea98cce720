//! Rust's hashbrown with ahash and owned boxed keys, measured like the Go subjects of bench/state: same keys, same queries,
//! same clock. Prints one line per cell: `cell <op> <width> <entries> <ns per operation>`.

use hashbrown::HashMap;

const BATCH: usize = 4096;
/// Keys between two looks at the clock.
const UNIT: usize = 2 * BATCH;

fn cpu() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

fn thread_cpu() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Writes key number i; see keys.go.
fn put(key: &mut [u8], i: u64) {
    key.fill(b'k');
    let at = if key.len() >= 24 { 16 } else { 2 };
    key[at..at + 8].copy_from_slice(&mix(i).to_le_bytes());
    key[at + 8..at + 16].copy_from_slice(&i.to_le_bytes());
}

fn fill(keys: &mut [u8], width: usize, mut number: impl FnMut() -> u64) {
    for key in keys.chunks_exact_mut(width) {
        put(key, number());
    }
}

struct Draw(u64);

impl Draw {
    fn next(&mut self, n: u64) -> u64 {
        self.0 += 1;
        mix(self.0) % n
    }
}

type Map = HashMap<Box<[u8]>, u64, ahash::RandomState>;

/// Fills a map and says what that took.
fn build(width: usize, entries: usize) -> (Map, u64) {
    let mut map = Map::default();
    let mut keys = vec![0u8; BATCH * width];
    let (mut spent, mut from) = (0, 0usize);
    while from < entries {
        let n = BATCH.min(entries - from);
        let mut i = from as u64;
        fill(&mut keys[..n * width], width, || {
            i += 1;
            i - 1
        });
        let start = cpu();
        for key in keys[..n * width].chunks_exact(width) {
            map.insert(key.into(), from as u64);
            from += 1;
        }
        spent += cpu() - start;
    }
    (map, spent)
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (width, entries): (usize, usize) = (args[1].parse().unwrap(), args[2].parse().unwrap());
    let (queries, builds, rounds): (usize, usize, usize) =
        (args[3].parse().unwrap(), args[4].parse().unwrap(), args[5].parse().unwrap());
    let (mut map, mut best) = build(width, entries);
    for _ in 1..builds {
        drop(std::mem::take(&mut map));
        let (again, spent) = build(width, entries);
        map = again;
        best = best.min(spent);
    }
    println!("cell insert {width} {entries} {}", best as f64 / entries as f64);

    let mut draw = Draw(7);
    let mut hits = vec![0u8; queries * width];
    fill(&mut hits, width, || draw.next(entries as u64));
    let mut misses = vec![0u8; queries * width];
    fill(&mut misses, width, || (1 << 40) + draw.next(1 << 40));
    let mut sum = 0u64;
    for (op, keys) in [("hit", &hits), ("miss", &misses), ("update", &hits)] {
        let mut best = vec![u64::MAX; queries / UNIT];
        for _ in 0..rounds {
            for (i, part) in keys.chunks_exact(UNIT * width).enumerate() {
                let start = thread_cpu();
                for key in part.chunks_exact(width) {
                    if op == "update" {
                        if let Some(v) = map.get_mut(key) {
                            *v += 1;
                        }
                    } else if let Some(v) = map.get(key) {
                        sum = sum.wrapping_add(*v);
                    }
                }
                best[i] = best[i].min(thread_cpu() - start);
            }
        }
        let best: u64 = best.iter().sum();
        println!("cell {op} {width} {entries} {}", best as f64 / queries as f64);
    }
    println!("sum {sum}");
}
