// Counts what users with limits use, in fixed windows of a minute and a day (UTC), in the store that replicas share.
import { createHash } from 'node:crypto'
import {
  type AccessRefusal,
  hasCode,
  type StateStore,
  type UsageKind,
  type UsageMeter,
  type User,
} from '@toolshelf/core/internal'

type UsageMeterOptions = {
  readonly store: StateStore
  /** Called when the store does not answer. */
  readonly notify?: (message: string) => void
  /** The clock in milliseconds; replaceable in tests. Replicas must agree on it to within seconds. */
  readonly now?: () => number
}

type Window = (typeof WINDOWS)[number]

/** The shorter window first: what it refuses does not count in the longer one. */
const WINDOWS = [
  { name: 'minute', ms: 60_000, suffix: 'PerMinute' },
  { name: 'day', ms: 86_400_000, suffix: 'PerDay' },
] as const
/** Milliseconds by which a counter outlives its window, because clocks differ. */
const SLACK_MS = 60_000
/** Estimates count in this window and the next; those of a killed process are then forgotten. */
const BEGUN_MS = 300_000
/** Seconds to wait for a user whose requests in progress may use up a limit. */
const BEGUN_RETRY = 2
const UNREACHABLE: AccessRefusal = {
  status: 503,
  message: 'your use is limited, and the store that counts it does not answer; try again shortly',
  retryAfter: 5,
}

/**
 * Creates a meter on a store: exact across all replicas that share it.
 *
 * @example
 * const usage = createUsageMeter({ store })
 * const refusal = await usage.take(user, 'requests')
 */
export function createUsageMeter({
  store,
  notify = () => {},
  now = Date.now,
}: UsageMeterOptions): UsageMeter {
  const count = (user: User, kind: UsageKind, window: Window, amount: number) => {
    const index = Math.floor(now() / window.ms)
    const key = `limit/${nameOf(user.uid)}/${kind}/${window.name}-${index}`
    return store.add(key, amount, window.ms + SLACK_MS)
  }

  /** Adds to the estimates of use that began in a window; returns their sum. */
  const estimate = (user: User, kind: UsageKind, index: number, amount: number) =>
    store.add(`limit/${nameOf(user.uid)}/${kind}/begun-${index}`, amount, 2 * BEGUN_MS + SLACK_MS)

  async function guarded<Value>(use: () => Promise<Value>): Promise<Value | AccessRefusal> {
    try {
      return await use()
    } catch (error) {
      if (!hasCode(error, 'STORE')) throw error
      notify(`limits cannot be counted: ${error.message}`)
      return UNREACHABLE
    }
  }

  /** Returns a refusal if use may not begin beside other use with these estimates. */
  async function whyNot(user: User, kind: UsageKind, others: number): Promise<AccessRefusal | undefined> {
    for (const { window, limit } of limitsOf(user, kind)) {
      const used = await count(user, kind, window, 0)
      if (used >= limit) return refusal(kind, limit, window, now())
      if (used + others >= limit) return inProgress(kind, limit, window)
    }
    return undefined
  }

  async function settle(user: User, kind: UsageKind, begun: Begun, amount: number): Promise<void> {
    await guarded(async () => {
      if (amount > 0) for (const { window } of limitsOf(user, kind)) await count(user, kind, window, amount)
      await estimate(user, kind, begun.index, -begun.amount)
    })
  }

  return {
    take: (user, kind, amount = 1) =>
      guarded(async () => {
        for (const { window, limit } of limitsOf(user, kind))
          if ((await count(user, kind, window, amount)) > limit) return refusal(kind, limit, window, now())
        return undefined
      }),
    begin: (user, kind, amount) =>
      guarded(async () => {
        if (limitsOf(user, kind).length === 0) return { settle: async () => {} }
        const begun = { index: Math.floor(now() / BEGUN_MS), amount }
        const sum = await estimate(user, kind, begun.index, amount)
        const before = await estimate(user, kind, begun.index - 1, 0)
        const why = await whyNot(user, kind, Math.max(0, sum - amount) + Math.max(0, before))
        if (!why) return { settle: (used: number) => settle(user, kind, begun, used) }
        await estimate(user, kind, begun.index, -amount)
        return why
      }),
  }
}

/** An estimate, and the window in which it counts. */
type Begun = { readonly index: number; readonly amount: number }

/** Longest id that is used in a key unchanged; stores refuse long keys. */
const MAX_NAME = 500

function nameOf(id: string): string {
  const name = encodeURIComponent(id)
  return name.length <= MAX_NAME ? name : `~${createHash('sha256').update(id).digest('hex')}`
}

function limitsOf({ profile }: User, kind: UsageKind): { readonly window: Window; readonly limit: number }[] {
  return WINDOWS.flatMap((window) => {
    const limit = profile.limits[`${kind}${window.suffix}`]
    return limit === undefined ? [] : [{ window, limit }]
  })
}

function refusal(kind: UsageKind, limit: number, window: Window, now: number): AccessRefusal {
  const seconds = Math.ceil((window.ms - (now % window.ms)) / 1000)
  const message = `your limit of ${limit} ${kind} per ${window.name} is reached; try again in ${waitText(seconds)}`
  return { status: 429, message, retryAfter: seconds }
}

function inProgress(kind: UsageKind, limit: number, window: Window): AccessRefusal {
  const message = `your requests in progress may use up your limit of ${limit} ${kind} per ${window.name}; try again when they are answered`
  return { status: 429, message, retryAfter: BEGUN_RETRY }
}

/** Formats a waiting time: `30 s`, or `7 h 50 min` for long ones. */
function waitText(seconds: number): string {
  if (seconds <= 120) return `${seconds} s`
  const minutes = Math.ceil(seconds / 60)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
