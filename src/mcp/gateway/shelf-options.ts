// Options of the shelf behind a gateway.

/** Clients put a prefix of their own in front of names, and see tools through MCP alone. */
export const shelfOptions = { namePrefix: '', toolSearch: false } as const
