import type { ReactNode } from 'react'
import { useEffect, useRef, useState } from 'react'
import { Button } from './button.tsx'

const GAP_PX = 4

type Props = {
  readonly text: ReactNode
  /** The name of the button for screen readers, where its text does not tell it. */
  readonly label?: string
  /** A little more than the menu takes, so that one at the foot of the window opens upwards in time. */
  readonly heightPx: number
  /** `start` where the menu begins at the left edge of its button. */
  readonly edge?: 'start' | 'end'
  readonly onOpen?: () => void
  readonly children: (close: () => void) => ReactNode
}

/** A button with a menu below it. */
export function MenuButton({ text, label, heightPx, edge = 'end', onOpen, children }: Props) {
  const menu = useRef<HTMLDivElement>(null)
  const [isOpen, setOpen] = useState(false)
  const close = () => menu.current?.hidePopover()
  // The menu is fixed to the window. It would stay behind when its button moves.
  useEffect(() => {
    if (!isOpen) return undefined
    const leave = ({ target }: Event) => {
      if (!(target instanceof Node) || menu.current?.contains(target) !== true) menu.current?.hidePopover()
    }
    addEventListener('scroll', leave, { capture: true })
    return () => removeEventListener('scroll', leave, { capture: true })
  }, [isOpen])
  const open = (button: HTMLButtonElement) => {
    const { top, bottom, left, right } = button.getBoundingClientRect()
    const style = menu.current?.style
    if (style === undefined) return
    const isLow = bottom + GAP_PX + heightPx > innerHeight
    style.top = isLow ? 'auto' : `${bottom + GAP_PX}px`
    style.bottom = isLow ? `${innerHeight - top + GAP_PX}px` : 'auto'
    if (edge === 'start') style.left = `${left}px`
    else style.right = `${document.documentElement.clientWidth - right}px`
    onOpen?.()
    menu.current?.togglePopover()
  }
  return (
    <>
      <Button aria-label={label} aria-expanded={isOpen} onClick={({ currentTarget }) => open(currentTarget)}>
        {text}
      </Button>
      <div
        ref={menu}
        popover="auto"
        className="menu row-menu"
        onToggle={({ newState }) => setOpen(newState === 'open')}
      >
        {children(close)}
      </div>
    </>
  )
}
