// Exports of agent/skills for other folders.

export { readSkillText } from './front-matter.ts'
export {
  loadSkills,
  parseSkillFiles,
  projectSkillFolders,
  readSkillFiles,
  type SkillFile,
  skillFolders,
  userSkillFolders,
} from './load.ts'
export { remoteSkills } from './remote.ts'
export { type FoundToolsAndSkills, searchToolsAndSkills, type ToolOrSkill } from './search.ts'
export { createSkills, type Skills, type SkillsOptions } from './skills.ts'
export type { Skill, SkillDiscovery, UsedSkill } from './types.ts'
