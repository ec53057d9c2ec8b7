import { MenuButton } from './menu-button.tsx'

export type RowAction = {
  readonly label: string
  readonly isDanger?: boolean
  /** The reason why the market would refuse now. The action is off, and the reason is below its name. */
  readonly refusal?: string | undefined
  readonly onDo: () => void
}

const ACTION_PX = 40

type Props = {
  /** The thing of the row, as the button names it. */
  readonly of: string
  readonly actions: readonly RowAction[]
}

/** The rarer actions of a row, behind one button. */
export function RowMenu({ of, actions }: Props) {
  return (
    <MenuButton text="More" label={`More actions for ${of}`} heightPx={actions.length * ACTION_PX}>
      {(close) =>
        actions.map(({ label, isDanger = false, refusal, onDo }) => (
          <button
            key={label}
            type="button"
            className="menu-item"
            data-kind={isDanger ? 'danger' : undefined}
            disabled={refusal !== undefined}
            onClick={() => {
              close()
              onDo()
            }}
          >
            {label}
            {refusal === undefined ? null : <span className="sub">{refusal}</span>}
          </button>
        ))
      }
    </MenuButton>
  )
}
