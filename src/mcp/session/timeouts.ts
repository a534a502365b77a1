// Cancels a request when the server reports no progress for too long. While the server waits for an answer from us, no
// request of its session times out: a person may take any time to answer.
// Implements H6.
import type { RequestOptions } from '@modelcontextprotocol/client'
import type { CallOptions } from '../types.ts'
import { SilenceError } from './silence.ts'

/** The timeouts of a session's requests. */
export type Timeouts = {
  /** Makes a request, and cancels it after `timeout` milliseconds without a response or progress. */
  limit<Value>(
    options: Pick<CallOptions, 'signal' | 'onProgress'> & { readonly timeoutMs: number },
    request: (options: RequestOptions) => Promise<Value>,
  ): Promise<Value>
  /** Runs `answer` for a question of the server; no request times out meanwhile, and all timeouts restart after it. */
  during<Value>(answer: () => Promise<Value>): Promise<Value>
}

const MAX_TIMER_MS = 2 ** 31 - 1

/** Creates the timeouts of a session. */
export function createTimeouts(): Timeouts {
  /** Functions that restart each request's timeout. */
  const renewals = new Set<() => void>()
  let questions = 0
  return {
    async limit({ timeoutMs, signal, onProgress }, request) {
      const late = new AbortController()
      let timer: ReturnType<typeof setTimeout> | undefined
      const renew = () => {
        clearTimeout(timer)
        timer = setTimeout(
          () => (questions > 0 ? renew() : late.abort(new SilenceError(timeoutMs))),
          timeoutMs,
        )
      }
      renew()
      renewals.add(renew)
      try {
        return await request({
          timeout: MAX_TIMER_MS,
          allowInputRequired: true,
          signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
          onprogress: (progress) => {
            renew()
            onProgress?.(progress)
          },
        })
      } catch (error) {
        throw late.signal.aborted ? late.signal.reason : error
      } finally {
        clearTimeout(timer)
        renewals.delete(renew)
      }
    },
    async during(answer) {
      questions++
      try {
        return await answer()
      } finally {
        questions--
        for (const renew of renewals) renew()
      }
    },
  }
}
