import { Select, TextArea } from '#control-plane/dashboard/ui/fields.tsx'
import { KeptInput } from '#control-plane/dashboard/ui/kept-input.tsx'
import type { CallSettings } from './call-of.ts'
import { EFFORTS, MAKINGS, SIZES, VOICES } from './choices.ts'
import type { Making, ShownColumn } from './columns.ts'
import { anyHeeds } from './columns.ts'

/** The settings that the address holds. */
type Changed = Partial<Omit<CallSettings, 'system'>> & { readonly as?: Making | undefined }

type Props = {
  readonly columns: readonly ShownColumn[]
  readonly settings: CallSettings
  readonly as: Making | undefined
  readonly onSystem: (text: string) => void
  readonly onChange: (changed: Changed) => void
}

const MAX_SYSTEM_CHARS = 50_000

/** System text and parameters, for all columns. A field shows when a model of the columns takes the parameter. */
export function SettingsForm({ columns, settings, as, onSystem, onChange }: Props) {
  const has = (making: Making) => columns.some((column) => column.making === making)
  const isUnlisted = columns.some(({ market }) => market === undefined)
  return (
    <details className="play-settings">
      <summary>
        Settings <span className="muted small">{summaryOf(settings)}</span>
      </summary>
      <div className="form">
        {has('chat') ? (
          <TextArea
            label="System text"
            hint="Instructions that every chat model gets first. Leave blank for none."
            maxLength={MAX_SYSTEM_CHARS}
            value={settings.system}
            onChange={({ currentTarget: { value } }) => onSystem(value)}
          />
        ) : null}
        <div className="form-row">
          {has('chat') ? <ChatFields columns={columns} settings={settings} onChange={onChange} /> : null}
          {has('image') ? (
            <Choice label="Picture size" value={settings.size} values={SIZES} onChange={(size) => onChange({ size })} />
          ) : null}
          {has('speech') ? (
            <Choice label="Voice" value={settings.voice} values={VOICES} onChange={(voice) => onChange({ voice })} />
          ) : null}
          {has('film') || has('music') ? (
            <NumberField
              label="Length, seconds"
              range={[1, 600]}
              value={settings.seconds}
              hint="Leave blank for the model's own"
              onChange={(seconds) => onChange({ seconds })}
            />
          ) : null}
          {isUnlisted ? (
            <Choice
              label="Unlisted models make"
              value={as}
              values={MAKINGS}
              onChange={(chosen) => onChange({ as: chosen })}
            />
          ) : null}
        </div>
      </div>
    </details>
  )
}

/** The parameters of chats. */
function ChatFields({ columns, settings, onChange }: Pick<Props, 'columns' | 'settings' | 'onChange'>) {
  return (
    <>
      <NumberField
        label="Longest answer, tokens"
        range={[1, 1_000_000]}
        value={settings.tokens}
        hint="Leave blank for 1,024"
        onChange={(tokens) => onChange({ tokens })}
      />
      {anyHeeds(columns, 'temperature') ? (
        <NumberField
          label="Temperature"
          range={[0, 2]}
          step={0.1}
          value={settings.temperature}
          hint="0 to 2. Leave blank for the model's own"
          onChange={(temperature) => onChange({ temperature })}
        />
      ) : null}
      {anyHeeds(columns, 'top_p') ? (
        <NumberField
          label="Top P"
          range={[0, 1]}
          step={0.05}
          value={settings.topP}
          hint="0 to 1. Leave blank for the model's own"
          onChange={(topP) => onChange({ topP })}
        />
      ) : null}
      {anyHeeds(columns, 'reasoning_effort', 'reasoning') ? (
        <Choice
          label="Reasoning effort"
          value={settings.effort}
          values={EFFORTS}
          onChange={(effort) => onChange({ effort })}
        />
      ) : null}
    </>
  )
}

type ChoiceProps<Name extends string> = {
  readonly label: string
  readonly value: Name | undefined
  readonly values: readonly Name[]
  readonly onChange: (value: Name | undefined) => void
}

function Choice<Name extends string>({ label, value: chosen, values, onChange }: ChoiceProps<Name>) {
  return (
    <Select
      label={label}
      value={chosen ?? ''}
      onChange={({ currentTarget: { value } }) => onChange(values.find((each) => each === value))}
      choices={[{ value: '', label: 'Default' }, ...values.map((value) => ({ value, label: value }))]}
    />
  )
}

function summaryOf({ system, tokens, temperature, topP, effort, voice, size, seconds }: CallSettings): string {
  return [
    system.trim() === '' ? undefined : 'system text',
    tokens === undefined ? undefined : `${tokens} tokens`,
    temperature === undefined ? undefined : `temperature ${temperature}`,
    topP === undefined ? undefined : `top P ${topP}`,
    effort === undefined ? undefined : `${effort} effort`,
    voice,
    size,
    seconds === undefined ? undefined : `${seconds} s`,
  ]
    .filter((part) => part !== undefined)
    .join(' · ')
}

type NumberProps = {
  readonly label: string
  readonly hint: string
  readonly range: readonly [number, number]
  readonly step?: number
  readonly value: number | undefined
  readonly onChange: (value: number | undefined) => void
}

function NumberField({ label, hint, range: [min, max], step = 1, value, onChange }: NumberProps) {
  return (
    <KeptInput
      label={label}
      hint={hint}
      type="number"
      min={min}
      max={max}
      step={step}
      value={value === undefined ? '' : String(value)}
      onKeep={(text) => {
        const typed = text === '' ? undefined : Number(text)
        if (typed === undefined || (typed >= min && typed <= max)) onChange(typed)
      }}
    />
  )
}
