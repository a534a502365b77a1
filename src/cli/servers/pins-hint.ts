// Names the commands that show and accept changed definitions, for messages of a host.

/** Returns the sentence about a server's changes that hosts add to their messages. */
export function pinsHint(server: string): string {
  return `Look at it with "toolshelf pins show ${server}" and allow it with "toolshelf pins accept ${server}".`
}
