import { useMutation } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { useState } from 'react'
import { answerOf, at } from '#control-plane/dashboard/data/answer-of.ts'
import { exactMoney, milliseconds } from '#control-plane/dashboard/data/format.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { Notice } from '#control-plane/dashboard/ui/states.tsx'

const MAX_TOKENS = 256
const MAX_PROMPT_CHARS = 4_000
const ANSWER_MS = 120_000

type AnswerFacts = {
  readonly text: string
  readonly costMicro: number | undefined
  readonly provider: string | null
  readonly tookMs: number
}

/** Makes one call with the reader's own key, which stays in its field. */
export function Asking({ model }: { readonly model: string }) {
  const [key, setKey] = useState('')
  const [prompt, setPrompt] = useState('Say hello.')
  const call = useMutation({ mutationFn: () => say({ model, key: key.trim(), prompt }) })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    call.mutate()
  }
  return (
    <form className="form" onSubmit={submit}>
      <div className="form-row">
        <Input
          label="Your key"
          hint="A buyer key. It is sent with the call, and kept nowhere"
          type="password"
          autoComplete="off"
          required
          value={key}
          onChange={({ currentTarget: { value } }) => setKey(value)}
        />
        <Input
          label="What to say"
          hint={`At most ${MAX_TOKENS} tokens come back`}
          required
          maxLength={MAX_PROMPT_CHARS}
          value={prompt}
          onChange={({ currentTarget: { value } }) => setPrompt(value)}
        />
      </div>
      <div className="actions">
        <Button kind="primary" type="submit" disabled={call.isPending || key.trim() === ''}>
          {call.isPending ? 'It answers…' : 'Call it'}
        </Button>
        <span className="muted small">It is charged like any call.</span>
      </div>
      {call.error === null ? null : <Notice tone="bad">{call.error.message}</Notice>}
      {call.data === undefined ? null : <Answer said={call.data} />}
    </form>
  )
}

function Answer({ said: { text, costMicro, provider, tookMs } }: { readonly said: AnswerFacts }) {
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

type Question = { readonly model: string; readonly key: string; readonly prompt: string }

async function say({ model, key, prompt }: Question): Promise<AnswerFacts> {
  const began = performance.now()
  const { body, headers } = await answerOf('/v1/chat/completions', {
    key,
    body: { model, max_tokens: MAX_TOKENS, messages: [{ role: 'user', content: prompt }] },
    withinMs: ANSWER_MS,
  })
  return {
    text: textIn(body) ?? 'It said nothing.',
    costMicro: costIn(body),
    provider: headers.get('x-mkt-provider-family'),
    tookMs: performance.now() - began,
  }
}

function textIn(body: unknown): string | undefined {
  const text = at(body, 'choices', 0, 'message', 'content')
  return typeof text === 'string' ? text : undefined
}

function costIn(body: unknown): number | undefined {
  const cost = at(body, 'usage', 'buyer_cost_micro')
  return typeof cost === 'number' ? cost : undefined
}
