// Exports of agent/skills for other folders.

export { readSkillText } from './front-matter.ts'
export {
  loadSkills,
  projectSkillFolders,
  readSkillFiles,
  type SkillFile,
  skillFolders,
  skillsIn,
  userSkillFolders,
} from './load.ts'
export { remoteSkills } from './remote.ts'
export { type FoundThing, type FoundThings, searchBoth } from './search.ts'
export { createSkills, type Skills, type SkillsOptions } from './skills.ts'
export type { Skill, SkillDiscovery, UsedSkill } from './types.ts'
