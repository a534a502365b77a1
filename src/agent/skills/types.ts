// Types of skills: instructions for a kind of task, which the model reads when needed.

/** Instructions for a kind of task. */
export type Skill = {
  readonly name: string
  readonly description: string
  readonly license?: string
  /** Tools that it is written for. */
  readonly allowedTools?: readonly string[]
  readonly metadata?: { readonly [key: string]: unknown }
  /** Its folder, or its address. */
  readonly place: string
  /** From an index; the model must have discovered it before it may run it. */
  readonly isRemote: boolean
  /** The instructions as they are now. */
  readonly read: () => Promise<string>
}

/** Skills that the model learned about, by an offer or a search (U3). */
export type SkillDiscovery = {
  readonly type: 'skill_discovery'
  readonly skills: readonly { readonly name: string; readonly description: string }[]
}

/** A skill that the model ran, and whether it had been offered or found before. */
export type UsedSkill = { readonly name: string; readonly was_discovered: boolean }

export type Notify = (message: string) => void
