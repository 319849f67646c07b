/**
 * The loom reads a pattern from a file, checks each row of it, and weaves the cloth line by line until the thread ends.
 *
 * <h2>Menus and patterns</h2>
 * <p>A pattern may name other patterns, which are read first; a pattern that names itself is an error with the name of the file.
 * <pre>{@code
 * weave --width 40 scarf.pattern
 * weave --check
 * }</pre>
 *
 * <h2>Options of the loom</h2>
 * <p>Every option has a default that suits cotton, so that a first cloth needs no option at all, only a pattern and a name for it.
 * <table>
 * <caption>Options</caption>
 * <tr><th scope="col">Option</th><th scope="col">What it does</th></tr>
 * <tr><td>width</td><td>how wide the cloth is, in threads</td></tr>
 * <tr><td>rows</td><td>after how many rows the loom stops</td></tr>
 * </table>
 *
 * <h2>First steps</h2>
 * <p>If the thread breaks, the loom stops at once, writes the number of the row into its log, and waits until it is started again.
 * <ul>
 * <li>Wind the warp.</li>
 * <li>Tie the first knot.</li>
 * <li>Start the loom.</li>
 * </ul>
 */
public class Loom {
	/** Makes a loom without a thread. */
	public Loom() {}

	/**
	 * Weaves some rows of the pattern.
	 *
	 * @param rows how many rows it weaves before it stops
	 * @return how many rows it has woven
	 */
	public int weave(int rows) { return rows; }
}
