/**
 * The policy of a fresh project: replies, the end of a run, and the six monitoring tools, which only read. Nothing
 * else is permitted.
 */
export const LEAST_PRIVILEGE_POLICY = `permit (
  principal,
  action in [
    Action::"respond",
    Action::"terminate",
    Action::"tool_call::system_health",
    Action::"tool_call::list_agents",
    Action::"tool_call::agent_status",
    Action::"tool_call::query_metrics",
    Action::"tool_call::list_schedules",
    Action::"tool_call::scheduler_health"
  ],
  resource
);
`
