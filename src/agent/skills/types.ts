// Types of skills: instructions for a kind of task, which the model reads when needed.

/** Instructions for a kind of task. */
export type Skill = {
  /** The name by which the model reads it. */
  readonly name: string
  /** Says when to use it, on one line. */
  readonly description: string
  /** The license, as its front matter states it. */
  readonly license?: string
  /** Tools that it is written for. */
  readonly allowedTools?: readonly string[]
  /** Further fields of its front matter. */
  readonly metadata?: { readonly [key: string]: unknown }
  /** Its folder or its URL. */
  readonly place: string
  /** It comes from a remote index; the model must discover it before it can read it. */
  readonly isRemote: boolean
  /** Reads its current instructions. */
  readonly read: () => Promise<string>
}

/** Skills that the model learned about, by an offer or a search (U3). */
export type SkillDiscovery = {
  /** Marks the record, so that hosts can store it beside messages. */
  readonly type: 'skill_discovery'
  /** The skills, as the offer described them. */
  readonly skills: readonly { readonly name: string; readonly description: string }[]
}

/** A skill that the model read, and whether it had been offered or found before. */
export type UsedSkill = { readonly name: string; readonly was_discovered: boolean }

/** Receives a message for the user. */
export type Notify = (message: string) => void
