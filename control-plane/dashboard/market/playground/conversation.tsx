import { useEffect, useRef } from 'react'
import type { PayingCall } from '#control-plane/dashboard/data/paid-call.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import type { Making, ShownColumn } from './columns.ts'
import { ReplyView } from './reply-view.tsx'
import type { ChatTurn } from './use-conversation.ts'

const PROMPTS: { readonly [Kind in Making]: readonly string[] } = {
  chat: [
    'Explain how a hash table works, in three sentences.',
    'Write a haiku about the sea.',
    'Plan a weekend in Lisbon as a table.',
  ],
  image: ['A lighthouse in fog, watercolour', 'A red bicycle on a white wall, photo'],
  speech: ['Welcome! Your call is answered in a moment.'],
  film: ['Waves at night under a full moon'],
  music: ['Calm piano with rain'],
}

type Props = {
  readonly turns: readonly ChatTurn[]
  readonly columns: readonly ShownColumn[]
  readonly paid: PayingCall
  readonly onPrompt: (text: string) => void
  readonly onAskAgain: (turn: ChatTurn, column: ShownColumn) => void
}

/** The conversation so far. Each question is above the answers of the columns. */
export function Conversation({ turns, columns, paid, onPrompt, onAskAgain }: Props) {
  const end = useRef<HTMLDivElement>(null)
  const count = turns.length
  useEffect(() => {
    if (count > 0) end.current?.scrollIntoView({ block: 'nearest' })
  }, [count])
  if (count === 0) {
    const making = columns[0]?.making ?? 'chat'
    return (
      <section className="play-empty" aria-label="Examples">
        <p className="muted">Ask something, or begin with an example.</p>
        <div className="actions">
          {PROMPTS[making].map((prompt) => (
            <Button key={prompt} onClick={() => onPrompt(prompt)}>
              {prompt}
            </Button>
          ))}
        </div>
      </section>
    )
  }
  return (
    <>
      <ol className="play-turns" aria-label="Conversation">
        {turns.map((turn, place) => (
          <li key={turn.id}>
            <QuestionView turn={turn} />
            <div className="play-replies">
              {columns.map((column) => {
                const reply = turn.replies[column.id]
                return (
                  <ReplyView
                    key={column.id}
                    column={column}
                    reply={reply}
                    paid={paid}
                    onAskAgain={place === count - 1 ? () => onAskAgain(turn, column) : undefined}
                  />
                )
              })}
            </div>
          </li>
        ))}
      </ol>
      <div ref={end} />
    </>
  )
}

function QuestionView({ turn: { question } }: { readonly turn: ChatTurn }) {
  return (
    <div className="play-question">
      <span className="muted small">You</span>
      <p>{question.text}</p>
      {question.pictures.length === 0 ? null : (
        <div className="play-pictures">
          {question.pictures.map(({ url, name }) => (
            <img key={url} src={url} alt={name} />
          ))}
        </div>
      )}
    </div>
  )
}
