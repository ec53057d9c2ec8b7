/** The facts in the body of a provider's refusal. */
export type ErrorBody = {
  /** The provider's words, or an empty text. They may not be shown as they are. */
  readonly message: string
  /** The member of the request that it names. It may not be shown as it is, either. */
  readonly param?: string
  /** True when the input does not fit into the model's context. */
  readonly isContext: boolean
  /** True when the provider's rules refuse what is asked for. No other key of that provider would be answered better. */
  readonly isPolicy?: boolean
}

const CONTEXT_WORDS =
  /context[_ ](?:length|window)|maximum context|too many (?:input )?tokens|prompt is too long|input is too long/i

/**
 * The words of refusals by content: OpenAI's `moderation_blocked` and `content_policy_violation` (also fal's), Azure's
 * `content_filter`, and what OpenRouter says with status 403.
 */
const POLICY_WORDS =
  /"(?:moderation_blocked|content_policy_violation|content_filter|content_moderation|flagged_input)"|requires moderation|flagged (?:for|by)/i

/** The first `message` anywhere in a body. Most protocols, and the proxies in front of their hosts, have one. */
export function readErrorBody(text: string): ErrorBody {
  const param = /"param"\s*:\s*"([^"\\]{1,256})"/.exec(text.slice(0, 8_192))?.[1]
  return {
    message: messageIn(text),
    isContext: CONTEXT_WORDS.test(text.slice(0, 4_096)),
    ...(param === undefined ? {} : { param }),
    ...(POLICY_WORDS.test(text.slice(0, 4_096)) && { isPolicy: true }),
  }
}

function messageIn(text: string): string {
  const match = /"message"\s*:\s*("(?:[^"\\]|\\.){0,2000}")/.exec(text.slice(0, 8_192))
  if (!match?.[1]) return ''
  try {
    return String(JSON.parse(match[1]))
  } catch {
    return ''
  }
}
