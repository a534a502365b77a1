// How often a property is tried: as often as finds a fault soon, or PROPERTY_RUNS times when somebody has the time.

export function runs(usual: number): number {
  return Number(process.env.PROPERTY_RUNS ?? usual)
}
