// Reuses large buffers. V8 counts the bytes of buffers and runs a full garbage collection after many allocations: a new
// buffer for every large request would stop the event loop for tens of milliseconds every few requests.

/** A pool of buffers for reuse. */
export type BufferPool = {
  /** Returns a buffer of this size; its content is arbitrary. */
  readonly take: (size: number) => Buffer
  /** Takes a buffer back for reuse. Neither it nor a part of it may be used afterwards. Ignores all other buffers. */
  readonly giveBack: (buffer: Buffer) => void
}

const SMALLEST_POOLED = 65_536

const MAX_POOLED_BYTES = 4_194_304

const MAX_FREE_BYTES = 16_777_216

/** Creates a pool that keeps at most `maxFreeBytes` of free memory. */
export function createBufferPool(maxFreeBytes = MAX_FREE_BYTES): BufferPool {
  /** Free memory by its size, which is a power of two. */
  const free = new Map<number, ArrayBufferLike[]>()
  const lent = new WeakSet<ArrayBufferLike>()
  let freeBytes = 0
  return {
    take(size) {
      if (size < SMALLEST_POOLED || size > MAX_POOLED_BYTES) return Buffer.allocUnsafeSlow(size)
      const capacity = 2 ** Math.ceil(Math.log2(size))
      const known = free.get(capacity)?.pop()
      if (known) freeBytes -= capacity
      const memory = known ?? Buffer.allocUnsafeSlow(capacity).buffer
      lent.add(memory)
      return Buffer.from(memory, 0, size)
    },
    giveBack({ buffer: memory }) {
      const capacity = memory.byteLength
      if (!lent.delete(memory) || freeBytes + capacity > maxFreeBytes) return
      freeBytes += capacity
      const alike = free.get(capacity)
      if (alike) alike.push(memory)
      else free.set(capacity, [memory])
    },
  }
}
