/** The first message of a run that an agent's source configures: its name, and the text of its declaration. */

/**
 * Nothing else of the file reaches the model: neither its sibling declarations nor the policies of the whole file. The
 * declaration does, with its own policies in it: no rule is a place for a secret.
 */
export function agentPrompt(name: string, declaration: string): string {
  return `You are agent '${name}'. Your declaration:\n\n${declaration}`
}
