import { useEffect, useRef, useState } from 'react'
import { Button } from './button.tsx'

export type RowAction = { readonly label: string; readonly isDanger?: boolean; readonly onDo: () => void }

const GAP_PX = 4
/** A little more than an action takes, so that a menu at the foot of the window opens upwards in time. */
const ACTION_PX = 40

type Props = {
  /** The thing of the row, as the button names it. */
  readonly of: string
  readonly actions: readonly RowAction[]
}

/** The rarer actions of a row, behind one button. */
export function RowMenu({ of, actions }: Props) {
  const menu = useRef<HTMLDivElement>(null)
  const [isOpen, setOpen] = useState(false)
  // The menu is fixed to the window. It would stay behind when its row moves.
  useEffect(() => {
    if (!isOpen) return undefined
    const close = () => menu.current?.hidePopover()
    addEventListener('scroll', close, { capture: true, once: true })
    return () => removeEventListener('scroll', close, { capture: true })
  }, [isOpen])
  const open = (button: HTMLButtonElement) => {
    const { top, bottom, right } = button.getBoundingClientRect()
    const style = menu.current?.style
    if (style === undefined) return
    const isLow = bottom + GAP_PX + actions.length * ACTION_PX > innerHeight
    style.top = isLow ? 'auto' : `${bottom + GAP_PX}px`
    style.bottom = isLow ? `${innerHeight - top + GAP_PX}px` : 'auto'
    style.right = `${document.documentElement.clientWidth - right}px`
    menu.current?.togglePopover()
  }
  return (
    <>
      <Button
        aria-label={`More actions for ${of}`}
        aria-expanded={isOpen}
        onClick={({ currentTarget }) => open(currentTarget)}
      >
        More
      </Button>
      <div
        ref={menu}
        popover="auto"
        className="menu row-menu"
        onToggle={({ newState }) => setOpen(newState === 'open')}
      >
        {actions.map(({ label, isDanger = false, onDo }) => (
          <button
            key={label}
            type="button"
            className="menu-item"
            data-kind={isDanger ? 'danger' : undefined}
            onClick={() => {
              menu.current?.hidePopover()
              onDo()
            }}
          >
            {label}
          </button>
        ))}
      </div>
    </>
  )
}
