import { expect, test } from 'vitest'
import { agentPrompt } from '../../src/delegation/index.ts'

test('the first message names the agent, and holds its declaration and nothing else', () => {
  expect(agentPrompt('reviewer', 'agent reviewer {}')).toBe(
    "You are agent 'reviewer'. Your declaration:\n\nagent reviewer {}",
  )
})
