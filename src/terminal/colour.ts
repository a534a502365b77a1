// Decides whether to use colours: NO_COLOR turns them off (no-color.org), and so does output that is no terminal.

export function colour(name: string): string | undefined {
  return process.env.NO_COLOR ? undefined : name
}
