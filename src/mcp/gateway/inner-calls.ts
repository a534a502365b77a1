// The vocabulary of calls within a call: what batches and scripts need to make ordinary ones.
import { BATCH_TOOL, type PoolTool, READ_TOOL, type Shelf, type TraceListener } from '../../core/index.ts'
import { CALL_TOOL, type Fields, SEARCH_TOOL } from '../../lib/index.ts'
import { SCRIPT_TOOL } from '../../sandbox/index.ts'
import type { CallOptions, CallOutput, McpHost, Progress } from '../types.ts'

/** How a call is made. */
export type CallWay = {
  /** The client calls the tool as its own list defines it, output schema included. */
  readonly isListed?: boolean
  /** The result is not put on the shelf: it does not go to the model. */
  readonly isWhole?: boolean
  /** Called for a valid call before it runs; rejects to refuse it. */
  readonly permit?: (tool: PoolTool) => Promise<void>
}

export type InnerCalls = {
  readonly shelf: Shelf
  readonly host: McpHost
  /** Makes an ordinary call of a server's tool. */
  call(name: string, input: Fields, options: CallOptions, way?: CallWay): Promise<CallOutput>
  trace(options: CallOptions): TraceListener | undefined
}

const OWN = [SEARCH_TOOL, CALL_TOOL, READ_TOOL, BATCH_TOOL, SCRIPT_TOOL]

/** Rejects calls of the gateway's own tools, which answer to the client alone. */
export function refuseOwnTool(name: string, caller: string): void {
  if (OWN.includes(name)) throw new Error(`${name} cannot be called in ${caller}; call it by itself.`)
}

export type CallProgress = {
  /** For the call with this number: what its server reports. */
  readonly report: (index: number) => (progress: Progress) => void
  readonly end: (index: number) => void
}

/**
 * Reports many calls as one: a call that has ended counts one, a call that runs as much as its server says it has done.
 * The sum never falls, as the protocol wants it.
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
