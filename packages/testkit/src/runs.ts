// How much the tests try: little by default so that the suite stays quick, more when somebody has the time.

/** A quarter if nobody says; TEST_EFFORT=10 tries every property forty times as often and runs load tests at full size. */
const effort = Number(process.env.TEST_EFFORT ?? 0.25)

/** How often a property is tried, given how often it is with an effort of one. PROPERTY_RUNS overrides it, to try one property for long. */
export function runs(usual: number): number {
  return Number(process.env.PROPERTY_RUNS ?? Math.ceil(usual * effort))
}

/** Where random values start; PROPERTY_SEED repeats or varies a run. */
export function seedOr(usual: number): number {
  return Number(process.env.PROPERTY_SEED ?? usual)
}

/** With PROPERTY_SHRINK=off a failure is reported as it came: enough for who asks only whether there is one. */
export const endOnFailure = process.env.PROPERTY_SHRINK === 'off'

/** Whether somebody has the time for what is too slow or too large for every run. */
export const isThorough = effort > 1

/** How large a load test is: `quick` by default, `full` with TEST_EFFORT above 1. */
export function sizeOf({ quick, full }: { readonly quick: number; readonly full: number }): number {
  return isThorough ? full : quick
}
