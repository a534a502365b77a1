// Names the command that logs in to a server, for messages of a host.

/** Returns what to do about a server that needs a login, or more permissions. */
export function loginHint(server: string, scope?: string): string {
  return `run "toolshelf login ${server}${scope === undefined ? '' : ` --scope "${scope}"`}"`
}
