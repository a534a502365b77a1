// Turns colours off if NO_COLOR is set (no-color.org); without a terminal there are none anyway.

export function colour(name: string): string | undefined {
  return process.env.NO_COLOR ? undefined : name
}
