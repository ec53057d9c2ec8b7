import { useMutation } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { useState } from 'react'
import { askModel } from '#control-plane/dashboard/data/ask-model.ts'
import { Answer } from '#control-plane/dashboard/market/answer.tsx'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { Notice } from '#control-plane/dashboard/ui/states.tsx'

const MAX_TOKENS = 256
const MAX_PROMPT_CHARS = 4_000

/** Makes one call with the reader's own key, which stays in its field. */
export function Asking({ model }: { readonly model: string }) {
  const [key, setKey] = useState('')
  const [prompt, setPrompt] = useState('Say hello.')
  const call = useMutation({ mutationFn: () => askModel({ model, key: key.trim(), prompt, maxTokens: MAX_TOKENS }) })
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
