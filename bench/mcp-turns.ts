// Runs several variants alternately, so that other load on the machine affects all of them alike.

export type Ways<Result> = ReadonlyMap<string, () => Promise<Result>>

/** Returns the results of each variant; each round begins with another one. */
export async function takeTurns<Result>(ways: Ways<Result>, rounds: number): Promise<Map<string, Result[]>> {
  const results = new Map([...ways.keys()].map((name) => [name, [] as Result[]]))
  const entries = [...ways]
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < entries.length; turn++) {
      const [name, run] = entries[(round + turn) % entries.length]!
      results.get(name)!.push(await run())
    }
  }
  return results
}

export function ratio(value: number, base: number): string {
  return `${(value / base).toFixed(2)}×`
}
