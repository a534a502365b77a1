// SHA-256 of texts, at once and in every runtime: by Node's own module where there is one, which is several times as fast,
// else in plain JavaScript, since what browsers have is asynchronous.

/** The first 32 bits of the fractions of the roots of the first primes: square roots to start with, cube roots for the rounds. */
const [START, ROUNDS] = [rootsOf(2, 8), rootsOf(3, 64)]

function rootsOf(degree: number, count: number): Int32Array {
  const primes: number[] = []
  for (let number = 2; primes.length < count; number++)
    if (primes.every((prime) => number % prime !== 0)) primes.push(number)
  return Int32Array.from(primes, (prime) => (prime ** (1 / degree) % 1) * 2 ** 32)
}

/** Like `sha256`, without Node. */
export function plainSha256(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text)
  const padded = new Uint8Array(((bytes.length + 8) >> 6) * 64 + 64)
  padded.set(bytes)
  padded[bytes.length] = 0x80
  const blocks = new DataView(padded.buffer)
  blocks.setUint32(padded.length - 8, bytes.length / 2 ** 29)
  blocks.setUint32(padded.length - 4, bytes.length << 3)
  const state = START.slice()
  const words = new Int32Array(64)
  for (let at = 0; at < padded.length; at += 64) mix(state, words, blocks, at)
  const result = new DataView(new ArrayBuffer(32))
  for (const [index, word] of state.entries()) result.setInt32(4 * index, word)
  return new Uint8Array(result.buffer)
}

const turn = (word: number, bits: number) => (word >>> bits) | (word << (32 - bits))

function mix(state: Int32Array, words: Int32Array, blocks: DataView, at: number): void {
  for (let i = 0; i < 16; i++) words[i] = blocks.getInt32(at + 4 * i)
  for (let i = 16; i < 64; i++) {
    const early = words[i - 15]!
    const late = words[i - 2]!
    const first = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3)
    const second = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10)
    words[i] = words[i - 16]! + first + words[i - 7]! + second
  }
  let [a, b, c, d] = [state[0]!, state[1]!, state[2]!, state[3]!]
  let [e, f, g, h] = [state[4]!, state[5]!, state[6]!, state[7]!]
  for (let i = 0; i < 64; i++) {
    const choice = (e & f) ^ (~e & g)
    const first = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + ROUNDS[i]! + words[i]!) | 0
    const majority = (a & b) ^ (a & c) ^ (b & c)
    const second = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + majority) | 0
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  state.set([a, b, c, d].map((word, index) => word + state[index]!))
  state.set(
    [e, f, g, h].map((word, index) => word + state[index + 4]!),
    4,
  )
}

type Crypto = {
  readonly createHash: (name: 'sha256') => { update(text: string): { digest(): Uint8Array } }
}

const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } }
const crypto = process?.getBuiltinModule?.('crypto') as Crypto | undefined

/** Returns the 32 bytes of the hash of a text as UTF-8. */
export const sha256 = crypto
  ? (text: string): Uint8Array => crypto.createHash('sha256').update(text).digest()
  : plainSha256
