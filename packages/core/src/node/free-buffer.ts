// Frees the memory of a buffer at once. V8 counts the bytes of buffers that wait for a garbage collection and starts a
// full one every few megabytes, which costs a gateway with large request bodies more than reading them.
import { MessageChannel } from 'node:worker_threads'

/** Smaller buffers may share their memory with others, and are not worth the call. */
const SMALLEST_FREED = 16_384

const closed = new MessageChannel().port1
closed.close()

/** Frees a buffer that nothing uses any more; it is empty afterwards. Ignores buffers that share their memory. */
export function freeBuffer({ buffer: memory, byteLength }: Buffer): void {
  if (byteLength < SMALLEST_FREED || byteLength !== memory.byteLength) return
  if (!(memory instanceof ArrayBuffer)) return
  // Memory transferred to a closed port is freed. Node 20 has no ArrayBuffer.prototype.transfer.
  closed.postMessage(undefined, [memory])
}
