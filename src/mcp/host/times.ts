// How long a host waits for what. Milliseconds.

export type Times = {
  /** Before the first new attempt; each one doubles it, up to `longestRetry`. */
  readonly firstRetry: number
  readonly longestRetry: number
  /** A lazy server without calls for so long is stopped. */
  readonly idle: number
  /** Between two looks whether a quiet server still answers. */
  readonly health: number
  /** For the answer to that look. */
  readonly ping: number
  /** A server that is still starting after so long lets the next one start too. */
  readonly turn: number
  /** Between two refreshes of a list that changes all the time, at first. */
  readonly refresh: number
  /** Between two looks whether what is held back has been accepted. */
  readonly accepted: number
  /** For the calls of a server that is configured no longer. */
  readonly farewell: number
}

export const defaultTimes: Times = {
  firstRetry: 1000,
  longestRetry: 300_000,
  idle: 300_000,
  health: 60_000,
  ping: 10_000,
  turn: 2000,
  refresh: 500,
  accepted: 2000,
  farewell: 60_000,
}
