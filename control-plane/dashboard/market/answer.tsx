import type { AnswerFacts } from '#control-plane/dashboard/data/ask-model.ts'
import { exactMoney, milliseconds } from '#control-plane/dashboard/data/format.ts'

/** An answer with its cost. */
export function Answer({ answer: { text, costMicro, provider, tookMs } }: { readonly answer: AnswerFacts }) {
  return (
    <output className="form">
      <p className="answer">{text}</p>
      <p className="muted small">
        {costMicro === undefined ? '' : `Cost ${exactMoney(costMicro)} · `}
        {provider === null ? '' : `${provider} · `}
        {milliseconds(tookMs)}
      </p>
    </output>
  )
}
