// Colours for those who want them: NO_COLOR turns them off (no-color.org); without a terminal there are none anyway.

export function colour(name: string): string | undefined {
  return process.env.NO_COLOR ? undefined : name
}
