// Disables colours if NO_COLOR is set (no-color.org); output that is not a terminal has none anyway.

/** Returns the colour's name, or undefined if colours are disabled. */
export function colour(name: string): string | undefined {
  return process.env.NO_COLOR ? undefined : name
}
