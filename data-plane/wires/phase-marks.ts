import type { ModelPlan } from '#data-plane/call.ts'
import type { AssistantPart, TextPart } from '#shared/protocols/middle-form/conversation.ts'
import { makerOf } from './maker-of.ts'

/** The phases of an answer's texts, for wires without a member for them. */
export type PhaseMarks = {
  /** Takes a piece of a text, and returns the seal that precedes it when another phase begins. */
  take(piece: { readonly text: string; readonly phase?: string }): string | undefined
}

/** Seals the phases of an answer's texts, each with the place where it begins, if a provider reports phases. */
export function phaseMarks({ offer, seal }: ModelPlan): PhaseMarks {
  let at = 0
  let current: string | undefined
  return {
    take({ text, phase }) {
      const begins = phase !== current
      const mark = { kind: 'phase' as const, phase: phase ?? '', at }
      current = phase
      at += text.length
      return begins ? seal.close(makerOf(offer), mark) : undefined
    },
  }
}

/** A sealed phase, and the place in the texts at which it begins. */
export type PhaseMark = { readonly phase: string; readonly at: number }

/** The parts of an answer with the phases of its texts, which are split where another phase begins. */
export function withPhases(parts: readonly AssistantPart[], marks: readonly PhaseMark[]): readonly AssistantPart[] {
  if (marks.length === 0) return parts
  let from = 0
  return parts.flatMap<AssistantPart>((part) => {
    if (part.kind !== 'text') return [part]
    const pieces = piecesOf(part, from, marks)
    from += part.text.length
    return pieces
  })
}

function piecesOf(part: TextPart, from: number, marks: readonly PhaseMark[]): readonly TextPart[] {
  const to = from + part.text.length
  const places = [from, ...marks.map(({ at }) => at).filter((at) => at > from && at < to), to]
  const edges = [...new Set(places)].sort((left, right) => left - right)
  return edges.slice(0, -1).map((start, index) => {
    const { phase = '' } = marks.findLast(({ at }) => at <= start) ?? {}
    const text = part.text.slice(start - from, (edges[index + 1] ?? to) - from)
    return { ...part, text, ...(phase !== '' && { phase }) }
  })
}
