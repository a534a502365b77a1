// Forwards the progress of a call at a limited rate; never loses the last progress before the end.
import type { CallOptions, Progress } from '../types.ts'
import { createBucket } from './notifications.ts'

const BURST = 50
const PER_SECOND = 10
/** Milliseconds after which a delayed progress notification is forwarded. */
const PAUSE_MS = 200

/** Makes a call with rate-limited progress. `shown` makes a message safe to display. */
export async function withPacedProgress<Output>(
  { onProgress, ...options }: CallOptions,
  shown: (message: string) => string,
  call: (options: CallOptions) => Promise<Output>,
): Promise<Output> {
  if (!onProgress) return call(options)
  const mayReport = createBucket(BURST, PER_SECOND / 1000, () => performance.now())
  let latest: Progress | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  const pass = ({ message, ...step }: Progress) =>
    onProgress({ ...step, ...(message === undefined ? {} : { message: shown(String(message)) }) })
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    const held = latest
    latest = undefined
    if (held) pass(held)
  }
  const flushLater = () => {
    timer = undefined
    if (latest === undefined) return
    if (mayReport()) flush()
    else timer = setTimeout(flushLater, PAUSE_MS)
  }
  const report = (progress: Progress) => {
    if (mayReport()) {
      latest = undefined
      pass(progress)
      return
    }
    latest = progress
    timer ??= setTimeout(flushLater, PAUSE_MS)
  }
  try {
    return await call({ ...options, onProgress: report })
  } finally {
    try {
      flush()
    } catch {
      // A failing listener must not lose the result.
    }
  }
}
