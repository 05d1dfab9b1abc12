import java.io.StringReader;
import java.io.StringWriter;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.transform.OutputKeys;
import javax.xml.transform.Transformer;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;
import org.xml.sax.SAXParseException;

public class Xml {
    public static void main(String[] args) throws Exception {
        String text = "<shop><item id='1' price='2.5'>tea</item><item id='2' price='4'>coffee &amp; milk</item><!-- c --></shop>";
        Document doc = DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader(text)));
        NodeList items = doc.getElementsByTagName("item");
        double total = 0;
        for (int i = 0; i < items.getLength(); i++) {
            Element e = (Element) items.item(i);
            total += Double.parseDouble(e.getAttribute("price"));
            System.out.println(e.getAttribute("id") + " " + e.getTextContent());
        }
        System.out.println(total);
        Element added = doc.createElement("item");
        added.setAttribute("id", "3");
        doc.getDocumentElement().appendChild(added);
        Transformer t = TransformerFactory.newInstance().newTransformer();
        t.setOutputProperty(OutputKeys.OMIT_XML_DECLARATION, "yes");
        StringWriter out = new StringWriter();
        t.transform(new DOMSource(doc), new StreamResult(out));
        System.out.println(out);
        javax.xml.parsers.DocumentBuilder builder = DocumentBuilderFactory.newInstance().newDocumentBuilder();
        builder.setErrorHandler(null);
        try {
            java.io.PrintStream err = System.err;
            System.setErr(new java.io.PrintStream(java.io.OutputStream.nullOutputStream()));
            builder.parse(new InputSource(new StringReader("<a><b></a>")));
            System.setErr(err);
        } catch (SAXParseException e) {
            System.out.println(e.getMessage());
        }
    }
}
