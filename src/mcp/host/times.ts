// Timeouts and intervals of a host.

/** Timeouts and intervals of a host, in milliseconds. */
export type Times = {
  /** Delay of the first retry; doubles with each failure, up to `longestRetry`. */
  readonly firstRetry: number
  readonly longestRetry: number
  /** A lazy server without calls for this long is stopped. */
  readonly idle: number
  /** Interval between health checks of an inactive server. */
  readonly health: number
  /** Timeout of a health check. */
  readonly ping: number
  /** A server that is still starting after this time no longer holds up the next one. */
  readonly turn: number
  /** Shortest interval between two refreshes of a list that keeps changing. */
  readonly refresh: number
  /** Interval between checks whether a definition held back has been accepted. */
  readonly accepted: number
  /** How long to wait for the running calls of a server that was removed. */
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
