import { useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useMemo, useRef, useState } from 'react'
import { apiUrlHere } from '#control-plane/dashboard/data/api-url.ts'
import type { BuyerPlaygroundQuery } from '#control-plane/dashboard/data/documents/buyer-playground.ts'
import { BuyerPlaygroundDocument } from '#control-plane/dashboard/data/documents/buyer-playground.ts'
import { usePaidCall } from '#control-plane/dashboard/data/paid-call.ts'
import { nameOf, useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { useDialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Page } from '#control-plane/dashboard/ui/page.tsx'
import { Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { CallSettings, Question } from './call-of.ts'
import { callOf } from './call-of.ts'
import { CapLine } from './cap-line.tsx'
import { CodeDialog } from './code-dialog.tsx'
import { ColumnHeads } from './column-heads.tsx'
import type { Making, ModelColumn, ShownColumn } from './columns.ts'
import { addressOf, columnsOf, makingOf } from './columns.ts'
import { Composer } from './composer.tsx'
import { Conversation } from './conversation.tsx'
import { SettingsForm } from './settings-form.tsx'
import type { ChatTurn } from './use-conversation.ts'
import { exchangesWith, useConversation } from './use-conversation.ts'
import { useQuotes } from './use-quotes.ts'

export function PlaygroundPage() {
  return (
    <Gate side="buyer" title="Playground">
      <Playground />
    </Gate>
  )
}

function Playground() {
  const { models } = useSearch({ from: '/playground' })
  const columns = useMemo(() => columnsOf(models), [models])
  const query = useScreen(BuyerPlaygroundDocument, variablesOf(columns))
  // The conversation stays while other models are read.
  return query.data === undefined ? (
    <Page title="Playground" about={ABOUT}>
      <Loaded query={query}>{() => null}</Loaded>
    </Page>
  ) : (
    <Open data={query.data} columns={columns} />
  )
}

const ABOUT = 'Try models side by side. You pay the market price of each answer.'

function variablesOf(columns: readonly ModelColumn[]) {
  const [a = '', b = a, c = a, d = a] = columns.map(({ model }) => model)
  const { length } = columns
  return { a, b, c, d, hasB: length > 1, hasC: length > 2, hasD: length > 3 }
}

function shownOf(columns: readonly ModelColumn[], data: BuyerPlaygroundQuery, chosen: Making | undefined) {
  const markets = [data.a, data.b, data.c, data.d]
  return columns.map((column, place): ShownColumn => {
    // A new column shows the data of the former one until its own has loaded.
    const market = markets.find((each) => each?.id === column.model) ?? markets[place] ?? undefined
    return { ...column, market, making: makingOf(market, chosen) }
  })
}

type OpenProps = { readonly data: BuyerPlaygroundQuery; readonly columns: readonly ModelColumn[] }

function Open({ data, columns: given }: OpenProps) {
  const search = useSearch({ from: '/playground' })
  const navigate = useNavigate({ from: '/playground' })
  const [system, setSystem] = useState('')
  const [question, setQuestion] = useState(NOTHING_ASKED)
  const code = useDialog()
  const url = apiUrlHere(data.service?.apiBaseUrl ?? location.origin)
  const paid = usePaidCall(url)
  const columns = useMemo(() => shownOf(given, data, search.as), [given, data, search.as])
  const settings = useMemo((): CallSettings => ({ ...search, system }), [search, system])
  const conversation = useConversation(paid)
  const { turns, isOpen } = conversation
  const quotes = useQuotes(paid, { columns, settings, question, turns })
  useSpendingRead(isOpen)
  const change = (changed: Partial<typeof search>) =>
    void navigate({ search: { ...search, ...changed }, replace: true })
  const send = () => {
    conversation.ask({ columns, settings, question })
    setQuestion(NOTHING_ASKED)
  }
  return (
    <Page
      title="Playground"
      about={ABOUT}
      actions={
        <>
          <Button onClick={code.open}>Code</Button>
          <Button disabled={turns.length === 0} onClick={conversation.clear}>
            New chat
          </Button>
        </>
      }
    >
      <CapLine caps={data.caps} />
      <div className="play" data-columns={columns.length}>
        <ColumnHeads columns={columns} quotes={quotes} onChange={(next) => change({ models: addressOf(next) })} />
        <SettingsForm columns={columns} settings={settings} as={search.as} onSystem={setSystem} onChange={change} />
        <Conversation
          turns={turns}
          columns={columns}
          paid={paid}
          onPrompt={(text) => setQuestion({ ...question, text })}
          onAskAgain={(turn, column) => conversation.askAgain(turn, column, settings)}
        />
        <Composer
          columns={columns}
          question={question}
          isOpen={isOpen}
          onChange={setQuestion}
          onSend={send}
          onStop={conversation.stop}
        />
      </div>
      <CodeDialog dialog={code} url={url} calls={callsOf({ columns, settings, question, turns })} />
    </Page>
  )
}

const NOTHING_ASKED: Question = { text: '', pictures: [] }

type Shown = {
  readonly columns: readonly ShownColumn[]
  readonly settings: CallSettings
  readonly question: Question
  readonly turns: readonly ChatTurn[]
}

/** The question of a call to copy while nothing is typed. */
const SAMPLE: Question = { text: 'Say hello.', pictures: [] }

/** The call of each column for what is typed, or the last one that was made, or else a sample. */
function callsOf({ columns, settings, question, turns }: Shown) {
  const isBlank = question.text.trim() === ''
  const last = isBlank ? turns.at(-1) : undefined
  const typed = isBlank && question.pictures.length === 0 ? SAMPLE : question
  const before = last === undefined ? turns : turns.slice(0, -1)
  return columns.map((column) => ({
    name: column.market?.name ?? column.model,
    call: callOf(column, { settings, question: last?.question ?? typed, exchanges: exchangesWith(before, column.id) }),
  }))
}

/** Reads the balance and the cap again once answers have ended. */
function useSpendingRead(isOpen: boolean): void {
  const cache = useQueryClient()
  const was = useRef(isOpen)
  useEffect(() => {
    if (was.current && !isOpen) void cache.invalidateQueries({ queryKey: [nameOf(BuyerPlaygroundDocument)] })
    was.current = isOpen
  }, [isOpen, cache])
}
