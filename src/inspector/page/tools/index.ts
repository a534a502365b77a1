// Exports of inspector/page/tools for other folders.
export { ToolList } from './tool-list.tsx'
export { ToolPicker } from './tool-picker.tsx'
