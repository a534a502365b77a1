// Prints the mutants that no test noticed, and the totals.

/** Prints each mutant with the outcome `survived` or `uncovered`, then how many had which outcome, by folder. */
export function report(mutants) {
  for (const mutant of mutants) if (isSurvivor(mutant)) show(mutant)
  const places = [...new Set(mutants.map(({ place }) => place))]
  for (const place of places)
    total(
      place,
      mutants.filter((mutant) => mutant.place === place),
    )
  if (places.length > 1) total('all', mutants)
}

function total(place, mutants) {
  const totals = { killed: 0, timedOut: 0, slow: 0, survived: 0, uncovered: 0, static: 0 }
  for (const { outcome } of mutants) totals[outcome]++
  // Constants of modules are not tried: each would need every test in a new process.
  const killed = totals.killed + totals.timedOut + totals.slow
  const tried = killed + totals.survived + totals.uncovered
  const share = tried === 0 ? '' : `: ${((100 * killed) / tried).toFixed(0)} %`
  console.log(`${place}: killed ${killed} of ${tried}${share} ${JSON.stringify(totals)}`)
}

export function isSurvivor({ outcome }) {
  return outcome === 'survived' || outcome === 'uncovered'
}

function show({ outcome, fileName, location, line, original, replacement, mutatorName }) {
  console.log(`${outcome} ${fileName}:${location.start.line + 1}:${location.start.column + 1} ${mutatorName}`)
  console.log(`  ${line}`)
  console.log(`  - ${brief(original)}`)
  console.log(`  + ${brief(replacement)}`)
}

function brief(text) {
  const joined = text.replace(/\s+/g, ' ')
  return joined.length > 160 ? `${joined.slice(0, 157)}...` : joined
}
