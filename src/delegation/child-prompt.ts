/** The first message of a run that an agent's source configures: its name, and the text of its declaration. */

/** Nothing else of the file reaches the model: neither its sibling declarations nor the policies that bind it. */
export function agentPrompt(name: string, declaration: string): string {
  return `You are agent '${name}'. Your declaration:\n\n${declaration}`
}
