// Tools as fields and lists.
export { ToolList } from './tool-list.tsx'
export { ToolPicker } from './tool-picker.tsx'
