/** What a tool may be called: policy, journals and clients all spell it. */
export const TOOL_NAME = /^[A-Za-z0-9_.:/-]{1,128}$/
export const TOOL_NAME_RULE = 'its name must be 1 to 128 letters, digits or "_-.:/"'
