// The interface of event sources: recorded files, or the memory of the process itself.

/** Some lines of JSON, each a `TraceRecord`, or the notice that all recorded ones have been read. */
export type EventBatch =
  | { readonly lines: readonly string[] }
  | {
      readonly caughtUp: { readonly events: number; readonly skipped: number; readonly broken: number }
    }

/** Options of a reader. */
export type ReadEventsOptions = {
  readonly signal: AbortSignal
  /** Leaves out what happened earlier, in ISO 8601. */
  readonly since?: string | undefined
  /** Continues with new events after the recorded ones. */
  readonly isFollowing: boolean
}

/** A source of events. Several readers may read it at once; each one reads only as fast as it is asked. */
export type EventFeed = {
  /** The files that events come from; empty for the memory of the process. */
  readonly files: readonly string[]
  read(options: ReadEventsOptions): AsyncGenerator<EventBatch, void, void>
}
