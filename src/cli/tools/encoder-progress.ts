// Shows how far the sentence encoder is with reading tools, with an estimate of the time left.
import type { Terminal } from '../command.ts'

/** Milliseconds between two lines of output: a terminal's line is rewritten, elsewhere each is a line of its own. */
const REWRITE_EVERY_MS = 250
const PRINT_EVERY_MS = 10_000
const REWRITE = '\u001b[1A\u001b[2K'

/** Runs work that waits for the encoder, and shows the progress that it reports; `noun` is what the encoder reads. */
export async function withEncoderProgress<Result>(
  terminal: Terminal,
  run: (report: EncoderProgress['report']) => Promise<Result>,
  noun?: string,
): Promise<Result> {
  const { report, finish } = createEncoderProgress(terminal, () => performance.now(), noun)
  try {
    return await run(report)
  } finally {
    finish()
  }
}

/** Shows progress. */
export type EncoderProgress = {
  readonly report: (done: number, total: number) => void
  /** Removes a line that is being rewritten. */
  readonly finish: () => void
}

/**
 * Creates the display. The first report, tools whose vectors were stored, is the baseline of the estimate.
 */
export function createEncoderProgress(
  terminal: Terminal,
  now: () => number,
  noun = 'tools',
): EncoderProgress {
  const canRewrite = terminal.isInteractive && process.env.TERM !== 'dumb'
  const everyMs = canRewrite ? REWRITE_EVERY_MS : PRINT_EVERY_MS
  let first: { readonly at: number; readonly done: number } | undefined
  let shownAt: number | undefined
  return {
    report(done, total) {
      const at = now()
      first ??= { at, done }
      // The last line of a log says that everything was read.
      const isLast = !canRewrite && done === total
      if (shownAt !== undefined && at - shownAt < everyMs && !isLast) return
      const leftMs = done > first.done ? ((at - first.at) / (done - first.done)) * (total - done) : undefined
      const estimate = leftMs === undefined || done === total ? '' : `, ${timeLeft(leftMs)} left`
      const line = `The encoder has read ${done} of ${total} ${noun}${estimate}.`
      terminal.report(`${canRewrite && shownAt !== undefined ? REWRITE : ''}${line}`)
      shownAt = at
    },
    finish() {
      if (canRewrite && shownAt !== undefined) terminal.report(REWRITE)
    },
  }
}

function timeLeft(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000)
  return seconds < 90 ? `about ${seconds} s` : `about ${Math.round(seconds / 60)} min`
}
