export { type ApprovalAnswer, type Decision, deny, type Gate, type GateQuestion } from './gate.ts'
