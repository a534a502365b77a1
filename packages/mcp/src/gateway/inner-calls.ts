// Defines calls within a call: what batches and scripts need to make ordinary ones.
import type { PoolTool, Shelf, TraceListener } from '@toolshelf/core'
import { BATCH_TOOL, CALL_TOOL, type Fields, READ_TOOL, SEARCH_TOOL } from '@toolshelf/core/internal'
import type { ClientWork } from '@toolshelf/core/internal/node'
import { SCRIPT_TOOL } from '@toolshelf/scripts'
import type { CallOptions, CallOutput, McpHost, Progress } from '../types.ts'

/** Options of a call of the client, with the work of the message that it belongs to. */
export type CountedCall = CallOptions & { readonly work: ClientWork }

export type CallWay = {
  /** Whether the client calls the tool as its own list defines it, including its output schema. */
  readonly isListed?: boolean
  /** Whether the result stays whole, because it does not go to the model. */
  readonly isWhole?: boolean
  /** Called for a valid call before it runs; rejects to refuse it. */
  readonly permit?: (tool: PoolTool) => Promise<void>
}

/** Makes ordinary calls on behalf of a batch or script. */
export type InnerCalls = {
  readonly shelf: Shelf
  readonly host: McpHost
  /** Makes an ordinary call of a server's tool. */
  call(name: string, input: Fields, options: CountedCall, way?: CallWay): Promise<CallOutput>
  trace(options: CallOptions): TraceListener | undefined
}

const OWN = [SEARCH_TOOL, CALL_TOOL, READ_TOOL, BATCH_TOOL, SCRIPT_TOOL]

/** Rejects calls of the gateway's own tools, which only the client may call. */
export function refuseOwnTool(name: string, caller: string): void {
  if (OWN.includes(name)) throw new Error(`${name} cannot be called in ${caller}; call it by itself.`)
}

type CallProgress = {
  readonly report: (index: number) => (progress: Progress) => void
  readonly end: (index: number) => void
}

/**
 * Reports the progress of many calls as one: a finished call counts one, a running call the share that its server reports.
 * The sum never decreases, as the protocol requires.
 */
export function progressOf(onProgress: CallOptions['onProgress'], total: number | undefined): CallProgress {
  const shares = new Map<number, number>()
  let reported = 0
  const update = (index: number, share: number, message?: string) => {
    shares.set(index, Math.max(share, shares.get(index) ?? 0))
    const progress = [...shares.values()].reduce((sum, one) => sum + one, 0)
    if (progress <= reported) return
    reported = progress
    onProgress?.({
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    })
  }
  return {
    report: (index) => (given) => {
      const share = given.total ? given.progress / given.total : given.progress / (given.progress + 1)
      update(index, Math.min(0.99, Math.max(0, share)), given.message)
    },
    end: (index) => update(index, 1),
  }
}
