// Names commands of ours, for messages of the library.

/** Returns the sentence about a server's changes that hosts add to their messages. */
export function pinsHint(server: string): string {
  return `Look at it with "toolshelf trust ${server}" and accept it there, or with --yes.`
}

/** What the model reads while no server is configured. */
export const noServersHint =
  'Tell the user to run "toolshelf connect --apply" or "toolshelf add" in a terminal: your next search finds what is added.'
