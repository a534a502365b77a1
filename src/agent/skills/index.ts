// Exports of agent/skills for other folders.

export {
  loadSkills,
  parseSkillFiles,
  projectSkillFolders,
  readSkillFiles,
  readSkillText,
  remoteSkills,
  type Skill,
  type SkillDiscovery,
  type SkillFile,
  skillFolders,
  type UsedSkill,
  userSkillFolders,
} from './load.ts'
export {
  createSkills,
  type FoundToolsAndSkills,
  type Skills,
  type SkillsOptions,
  searchToolsAndSkills,
  type ToolOrSkill,
} from './skills.ts'
